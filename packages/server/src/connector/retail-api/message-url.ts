// Builds the addresses of the Retail API and of its messages.

export const retailBase = '/retail/v1';

/** @example messagePath({ tsn, saleId, serviceId }); // '/retail/v1/devices/AXIUM_DX8000-1/messages/4711?saleId=till-3' */
export function messagePath({
  tsn,
  saleId,
  serviceId,
}: {
  readonly tsn: string;
  readonly saleId: string;
  readonly serviceId: string;
}): string {
  const [device, service] = [tsn, serviceId].map(encodeURIComponent);
  const query = new URLSearchParams({ saleId }).toString();
  return `${retailBase}/devices/${device}/messages/${service}?${query}`;
}
