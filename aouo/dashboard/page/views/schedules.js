// All schedules, whosever they are.

export { show } from "/page/views/pack/schedules.js";
