export default { name: "pronAssess", description: "Scores a recording", execute: async () => "ok" };
