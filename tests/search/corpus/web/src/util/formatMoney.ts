const formatters = new Map<string, Intl.NumberFormat>();

/** Cents as the customer's country writes them: 1234 is "12,34 €". */
export const formatMoney = (cents: number, currency = "EUR", locale = "de-DE"): string => {
  const key = `${locale}/${currency}`;
  const formatter = formatters.get(key) ?? new Intl.NumberFormat(locale, { style: "currency", currency });
  formatters.set(key, formatter);
  return formatter.format(cents / 100);
};
