/** The terminal serial number (TSN): `{MAKE}_{MODEL}-{serial}`. */

/**
 * The make, the model and the serial number of a terminal.
 *
 * @example
 * const terminal: TerminalIdentity = { make: 'AXIUM', model: 'DX8000', serialNumber: '10000001' };
 */
export type TerminalIdentity = {
  readonly make: string;
  readonly model: string;
  readonly serialNumber: string;
};

/**
 * Formats a terminal serial number, as devices and points of sale use it.
 *
 * @param terminal - its make, model and serial number
 * @returns the terminal serial number
 * @example
 * formatTsn({ make: 'AXIUM', model: 'DX8000', serialNumber: '10000001' }); // 'AXIUM_DX8000-10000001'
 */
export function formatTsn({ make, model, serialNumber }: TerminalIdentity): string {
  return `${make}_${model}-${serialNumber}`;
}

/**
 * Reads a terminal serial number. A serial number contains no hyphen, so it follows the last one.
 *
 * @param tsn - a terminal serial number, or a serial number alone
 * @returns the serial number, and the make and model before it; the latter is empty when it is absent
 * @example
 * parseTsn('AXIUM_DX8000-10000001'); // { makeAndModel: 'AXIUM_DX8000', serialNumber: '10000001' }
 */
export function parseTsn(tsn: string): { makeAndModel: string; serialNumber: string } {
  const end = tsn.lastIndexOf('-');
  return { makeAndModel: tsn.slice(0, Math.max(0, end)), serialNumber: tsn.slice(end + 1) };
}
