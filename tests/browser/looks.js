// What the tests ask of an open page: contrast, labels, width, focus.

window.looks = (() => {
  const LEAST = 4.5;
  const LEAST_LARGE = 3;

  const seen = (node) => {
    const box = node.getBoundingClientRect();
    return box.width > 1 && box.height > 1 && node.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  };

  const named = (node) => `${node.tagName.toLowerCase()}${node.id && `#${node.id}`}${
    node.getAttribute("class") ? `.${node.getAttribute("class")}` : ""} ${(node.textContent || node.value || "").trim().slice(0, 40)}`;

  const channels = (color) => {
    const [red, green, blue, alpha = 1] = color.match(/[\d.]+/g).map(Number);
    return [red, green, blue, alpha];
  };

  const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a), 1];

  const ground = (node) => {
    const layers = [];
    for (let one = node; one; one = one.parentElement) layers.push(channels(getComputedStyle(one).backgroundColor));
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
  };

  const luminance = (color) => {
    const [r, g, b] = color.slice(0, 3).map((value) => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };

  const ratio = (one, other) => {
    const [less, more] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (more + 0.05) / (less + 0.05);
  };

  const texts = function* texts() {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = walker.currentNode.parentElement;
      if (walker.currentNode.data.trim() && !node.closest("title, noscript, :disabled") && seen(node)) yield node;
    }
    for (const node of document.querySelectorAll("input:enabled, select:enabled, textarea:enabled")) if (seen(node)) yield node;
  };

  const CONTROLS = "button, input, select, textarea, a[href], summary, [tabindex='0']";
  const isAnotherRadio = (node) => node.type === "radio"
    && node !== (document.querySelector(`[name="${CSS.escape(node.name)}"]:checked`) ?? document.getElementsByName(node.name)[0]);
  const controls = () => [...document.querySelectorAll(CONTROLS)]
    .filter((node) => !node.disabled && node.tabIndex >= 0 && !isAnotherRadio(node) && !node.closest("[inert]")
      && (node.classList.contains("skip") || seen(node)));
  let missed = new Set();
  let first = null;
  let last = null;
  let turns = 0;

  return {
    // What is too pale: AA of WCAG 2.2, 1.4.3.
    pale: () => [...new Set([...texts()].flatMap((node) => {
      const style = getComputedStyle(node);
      const size = parseFloat(style.fontSize);
      const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      const below = ground(node);
      const color = over(channels(node instanceof SVGElement ? style.fill : style.color), below);
      const found = ratio(color, below);
      return found < (large ? LEAST_LARGE : LEAST) ? [`${found.toFixed(2)}: ${named(node)}`] : [];
    }))],

    // What makes the whole page wider than the window.
    wide: () => {
      const most = document.documentElement.clientWidth;
      if (document.documentElement.scrollWidth <= most) return [];
      return [...document.querySelectorAll("body *")]
        .filter((node) => node.getBoundingClientRect().right > most + 1 && !node.closest(".scroll, pre"))
        .map(named).slice(0, 5);
    },

    // Heads of columns that are seen without scrolling a table aside.
    columns: () => [...document.querySelectorAll(".scroll th")]
      .filter((node) => seen(node) && node.getBoundingClientRect().right <= node.closest(".scroll").getBoundingClientRect().right + 1)
      .map((node) => node.textContent),

    // Controls that say nothing of themselves.
    nameless: () => controls().filter((node) => !(node.getAttribute("aria-label") || node.labels?.length
      || document.getElementById(node.getAttribute("aria-labelledby") ?? "")
      || (!/^(INPUT|SELECT|TEXTAREA)$/.test(node.tagName) && node.textContent.trim()))).map(named),

    links: () => [...document.querySelectorAll("a[href^='#/']")].map((node) => node.getAttribute("href")),

    startTabbing: () => {
      missed = new Set(controls());
      first = last = null;
      turns = 0;
      document.activeElement?.blur();
    },

    // What has the focus now: null after the last.
    tabbed: () => {
      const node = document.activeElement;
      if (node === last) return { faults: [] };  // another part of it, as of a date
      last = node;
      if (node === first || (node === document.body && (turns += 1) > 1)) return null;
      if (node === document.body) return { faults: [] };  // from the last on to the first
      first ??= node;
      missed.delete(node);
      const style = getComputedStyle(node);
      const shows = node.matches(":focus-visible") && style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
      return { faults: shows && seen(node) ? [] : [`does not show its focus: ${named(node)}`] };
    },

    endTabbing: () => [...missed].filter((node) => node.isConnected).map((node) => `not reached: ${named(node)}`),
  };
})();
