// The members of a host table for framing, numbers and responses.
import type { FrameFormat } from '../frame.ts';

export type FramingSettings = Omit<FrameFormat, 'headerBytes'> & {
  readonly tpduBytes?: number;
  /** In hexadecimal: an identifier of one byte, the destination, and as many bytes of the source. */
  readonly tpdu?: string;
  /** The header after the TPDU, with the parts `{destination:…}`, `{source:…}` and `{length:N}`. */
  readonly header?: string;
  /** The header of answers; if it is missing, an answer has the header of its request with swapped addresses. */
  readonly answerHeader?: string;
  readonly headerCharacters?: 'ascii' | 'ebcdic' | 'hex';
  /** Whether the platform answers an empty frame with an empty frame. */
  readonly emptyFrames?: 'Ignored' | 'Answered';
};

export type TraceNumberSettings = {
  readonly digits: number;
  /** Whether two terminals of the link can have the same number. */
  readonly uniqueBy: 'Terminal' | 'Link';
};

export type RetrievalReferenceSettings = {
  /** `Host`: the number of the host's response identifies the payment. */
  readonly assignedBy: 'Platform' | 'Host';
  /** `IfAssigned`: a message about a payment for which the host has assigned no number has no DE37. */
  readonly inRequests: 'Always' | 'IfAssigned';
  /** Parts `year day hour stan number zeros`; `number` counts the messages of the link. */
  readonly pattern: string;
};

/** The comparisons of a repeated field; the reference of host tables describes each. */
export const echoComparisons = [
  'Equal',
  'EqualTrimmed',
  'PrefixEqual',
  'EqualIfPresent',
  'Ignore',
] as const;

export type EchoComparison = (typeof echoComparisons)[number];

export type CorrelationSettings = {
  /** Together they identify a request among all requests of the link and day. */
  readonly fields: readonly number[];
  /** How a field of a response is compared with the request. */
  readonly echo: { readonly [field: number]: EchoComparison };
};
