// The retrieval reference number (DE37) of messages, where the platform or the host assigns it.
import { fitNumber, type HostTable, type Message, padIdentifier } from '@switchyard/iso8583';
import type { AcquirerRequest } from '../spi/acquirer-spi.ts';

type Settings = HostTable['retrievalReference'];

const retrievalReferenceField = 37;

/** DE37 of a request; undefined if the request has none. */
export function selectRetrievalReference(
  { reference, original }: Pick<AcquirerRequest, 'reference' | 'original'>,
  { retrievalReference, messages }: Pick<HostTable, 'messages' | 'retrievalReference'>,
): string | undefined {
  const { assignedBy, inRequests } = retrievalReference;
  const format = messages.fields[retrievalReferenceField];
  if (assignedBy === 'Platform') return fitNumber(reference.rrn, format);
  if (original?.rrnAssignedBy === 'Host') return padIdentifier(original.rrn, format);
  // The host has assigned no number to the original, for example because its response was lost.
  return inRequests === 'IfAssigned' ? undefined : fitNumber((original ?? reference).rrn, format);
}

/** The number that the host assigned in its response; undefined if the platform assigns the numbers. */
export function readAssignedReference(
  { fields }: Message,
  { assignedBy }: Settings,
): string | undefined {
  const number = fields[retrievalReferenceField]?.trim() ?? '';
  return assignedBy === 'Host' && /[^0]/.test(number) ? number : undefined;
}
