// The control API of the emulator.

export class Refused extends Error {}

export async function act(verb, args = {}) {
  const response = await fetch(`/emulator/${verb}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(args),
  });
  const answer = await response.json();
  if (!response.ok) throw new Refused(answer.error);
  return answer.result;
}

export async function changes(since) {
  const response = await fetch(`/emulator/changes?since=${since}&timeout_s=25`);
  if (!response.ok) throw new Error(`changes: ${response.status}`);
  return (await response.json()).now;
}

export async function base64(file) {
  const url = await new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
  return url.slice(url.indexOf(",") + 1);
}
