export { debounce } from "./debounce";
export { formatMoney } from "./formatMoney";
