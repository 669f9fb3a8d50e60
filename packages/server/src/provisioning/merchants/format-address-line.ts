// Formats a postal address as one line.

export type PostalAddress = {
  readonly line1: string;
  readonly line2?: string;
  readonly city: string;
  readonly postalCode?: string;
  readonly region?: string;
};

/**
 * The address in one line, for receipts.
 *
 * @example formatAddressLine({ line1: '1 High Street', city: 'York' }); // '1 High Street, York'
 */
export function formatAddressLine(address: PostalAddress): string {
  const { line1, line2, postalCode, city, region } = address;
  const town = [postalCode, city].filter((part) => part !== undefined).join(' ');
  return [line1, line2, town, region].filter((part) => part !== undefined).join(', ');
}
