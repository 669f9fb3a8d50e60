// How many devices each organisation has, and the identifiers and names that queries use.

/** Of all devices so many belong to the first organisation, and to each of the next nine. */
const shares = { first: 0.2, next: 0.02 } as const;
const nextCount = 9;

export const devicesPerStore = 10;
export const devicesPerMerchant = 50;

/** The largest, the nine after it, and as many small ones as make the questions come from everywhere. */
export const queriedOrganizations = 24;

/**
 * Acquirers differ: one has a fifth of all terminals, nine have a fiftieth each, the others share the
 * rest evenly.
 *
 * @returns how many devices each organisation has; together `devices`
 */
export function divideDevices(devices: number, organizations: number): number[] {
  const counts: number[] = [];
  let remaining = devices;
  for (let number = 0; number < organizations; number += 1) {
    const share = number === 0 ? shares.first : shares.next;
    const even = Math.ceil(remaining / (organizations - number));
    const target = number <= nextCount ? Math.max(even, Math.floor(devices * share)) : even;
    const count = Math.min(remaining, target);
    counts.push(count);
    remaining -= count;
  }
  return counts;
}

export const estateKinds = {
  organization: 1,
  merchant: 2,
  store: 3,
  logical: 4,
  physical: 5,
} as const;
export type EstateKind = keyof typeof estateKinds;

/** Of one organisation; more would run into the numbers of the next. */
const numbersOfOrganization = 2 ** 24;

/**
 * Identifiers in the order of making, as the platform's own (UUID version 7), and the same for the
 * same numbers: the questions know them without asking the database.
 *
 * @param firstMs the time at which the first was made
 */
export function estateId(
  kind: EstateKind,
  firstMs: number,
  organization: number,
  number: number,
): string {
  const time = (firstMs + number).toString(16).padStart(12, '0');
  const numberHex = (organization * numbersOfOrganization + number).toString(16).padStart(12, '0');
  const hex = `${time}70008${estateKinds[kind].toString(16).padStart(3, '0')}${numberHex}`;
  const cuts = [0, 8, 12, 16, 20, 32];
  return cuts
    .slice(1)
    .map((to, at) => hex.slice(cuts[at], to))
    .join('-');
}

/** The same in SQL. */
export const estateIdSql = (kind: EstateKind, organization: string, number: string): string =>
  `(lpad(to_hex($1::bigint + ${number}), 12, '0') || '70008' || '${estateKinds[kind].toString(16).padStart(3, '0')}'
    || lpad(to_hex(${organization}::bigint * ${numbersOfOrganization} + ${number}), 12, '0'))::uuid`;

const digits = 6;

export const serialNumberOf = (organization: number, number: number): string =>
  `${String(organization).padStart(4, '0')}${String(number).padStart(digits, '0')}`;
export const externalIdOf = (number: number): string =>
  `EXT-${String(number).padStart(digits, '0')}`;
export const deviceNameOf = (number: number): string =>
  `Till ${String(number).padStart(digits, '0')}`;

export const serialNumberSql = (organization: string, number: string): string =>
  `lpad(${organization}::text, 4, '0') || lpad((${number})::text, ${digits}, '0')`;
export const externalIdSql = (number: string): string =>
  `'EXT-' || lpad((${number})::text, ${digits}, '0')`;
export const deviceNameSql = (number: string): string =>
  `'Till ' || lpad((${number})::text, ${digits}, '0')`;

/** A beginning of the name that so many devices share: 10, 100, 1,000 … of them. */
export const namePrefixOf = (number: number, shared: number): string =>
  deviceNameOf(number).slice(0, -Math.round(Math.log10(shared)));
