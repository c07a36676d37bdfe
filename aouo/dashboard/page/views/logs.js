// The whole log.

export { show } from "/page/views/pack/logs.js";
