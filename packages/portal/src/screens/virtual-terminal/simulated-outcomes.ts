/** What the demo's acquirer makes of an amount: its last four digits say how the payment ends. */
export const outcomes = ['9051', '9054', '9005', '9041', '9091', '9098'] as const;
export type Outcome = (typeof outcomes)[number] | '';

const spread = 10_000;

/** The amount nearest to the wanted one, above it, that ends so. */
export function amountFor(requested: number, outcome: Outcome): number {
  if (outcome === '') return requested;
  const whole = Math.floor(requested / spread) * spread + Number(outcome);
  return whole < requested ? whole + spread : whole;
}

/** Numbers that the schemes publish for tests; the demo takes any with a right check digit. */
export const testCards = [
  { scheme: 'Visa', number: '4111111111111111' },
  { scheme: 'Mastercard', number: '5555555555554444' },
  { scheme: 'Discover', number: '6011111111111117' },
] as const;

/** Blanks between groups, as it stands on a card. */
export function spaced(number: string): string {
  return number.replaceAll(/(\d{4})(?=\d)/g, '$1 ');
}
