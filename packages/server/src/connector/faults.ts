// What the connector cannot do, as it is told on an open connection.
import {
  type CloseCode,
  type ConnectorFaultCode,
  closeCodes,
  connectorFaults,
  defined,
} from '@switchyard/contract';

type Extra = { readonly retryAfterSeconds?: number; readonly level?: string };

/** Why a point of sale or a device that was let in is cut off, and its sessions with it. */
export type LostRight = 'unauthorized' | 'role_missing';

/** A fault that the peer is told; everything else is one of ours. */
export class Fault extends Error {
  readonly code: ConnectorFaultCode;
  readonly extra: Extra;

  constructor(code: ConnectorFaultCode, extra: Extra = {}) {
    super(code);
    this.name = 'Fault';
    this.code = code;
    this.extra = extra;
  }
}

export const fail = (code: ConnectorFaultCode, extra?: Extra): never => {
  throw new Fault(code, extra);
};

/** RFC 6455 leaves so much to the reason of a closing. */
const reasonMaxBytes = 123;

/** The word and the name under which the log knows more. */
export const reasonOf = (word: string, correlationId: string): string =>
  Buffer.from(`${word}:${correlationId}`).subarray(0, reasonMaxBytes).toString();

/** The text of an error message of the protocol. */
export function errorText(
  { code, extra }: Fault,
  correlationId: string,
  requestId?: string,
): string {
  const { summary: message, retryable } = connectorFaults[code];
  return JSON.stringify({
    type: 'error',
    ...defined({ requestId }),
    error: { code, message, retryable, ...extra },
    correlationId,
  });
}

/** With which code a connection ends that has to end for it. */
export function closeCodeOf(code: ConnectorFaultCode): CloseCode {
  const facts = connectorFaults[code];
  return 'closeCode' in facts ? facts.closeCode : closeCodes.badMessage;
}

/** How the sessions end of whoever is cut off. */
export const endingOf = (word: LostRight) => ({ code: closeCodeOf(word), word });
