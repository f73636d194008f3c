/** Calls a function once, after it has not been asked for a while. */
export function debounce<A extends unknown[]>(call: (...args: A) => void, waitMs: number): (...args: A) => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...args), waitMs);
  };
}
