/** Simulated results: the last four digits of an amount select the result. */
export const simulatedOutcomes = ['9051', '9054', '9005', '9041', '9091', '9098'] as const;
export type SimulatedOutcome = (typeof simulatedOutcomes)[number] | '';

const spread = 10_000;

/** The next higher amount with this result. */
export function amountWithOutcome(requested: number, outcome: SimulatedOutcome): number {
  if (outcome === '') return requested;
  const whole = Math.floor(requested / spread) * spread + Number(outcome);
  return whole < requested ? whole + spread : whole;
}

/** Test card numbers of the schemes. The demo accepts any number with a correct check digit. */
export const testCards = [
  { scheme: 'Visa', number: '4111111111111111' },
  { scheme: 'Mastercard', number: '5555555555554444' },
  { scheme: 'Discover', number: '6011111111111117' },
] as const;

/** Groups the digits of a card number. */
export function groupCardDigits(number: string): string {
  return number.replaceAll(/(\d{4})(?=\d)/g, '$1 ');
}
