// The retrieval reference number (DE37) of messages, where the platform or the host assigns it.
import type { HostTable, Message } from '@switchyard/iso8583';
import type { AcquirerRequest } from '../spi/acquirer-spi.ts';

type Settings = HostTable['retrievalReference'];

const retrievalReferenceField = 37;
const paddedLength = 12;

/** DE37 of a request; undefined if the request has none. */
export function selectRetrievalReference(
  { reference, original }: Pick<AcquirerRequest, 'reference' | 'original'>,
  { assignedBy, inRequests }: Settings,
): string | undefined {
  if (assignedBy === 'Platform') return reference.rrn;
  if (original?.rrnAssignedBy === 'Host') return original.rrn.padEnd(paddedLength, ' ');
  // The host has assigned no number to the original, for example because its response was lost.
  return inRequests === 'IfAssigned' ? undefined : (original ?? reference).rrn;
}

/** The number that the host assigned in its response; undefined if the platform assigns the numbers. */
export function readAssignedReference(
  { fields }: Message,
  { assignedBy }: Settings,
): string | undefined {
  const number = fields[retrievalReferenceField]?.trim() ?? '';
  return assignedBy === 'Host' && /[^0]/.test(number) ? number : undefined;
}
