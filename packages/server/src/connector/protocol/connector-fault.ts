// Defines the errors that the connector sends on an open connection.
import {
  type CloseCode,
  type ConnectorFaultCode,
  closeCodes,
  connectorFaults,
  defined,
} from '@switchyard/contract';

type Extra = { readonly retryAfterSeconds?: number; readonly level?: string };

/** Why the server disconnects a point of sale or a device, and ends its sessions. */
export type LostRight = 'unauthorized' | 'role_missing';

/** An error that the server sends to the peer; every other error is an internal fault. */
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

/** RFC 6455 allows this many bytes for the reason of a close frame. */
const reasonMaxBytes = 123;

/** Returns the reason with the correlation ID, with which an operator finds details in the log. */
export const reasonOf = (word: string, correlationId: string): string =>
  Buffer.from(`${word}:${correlationId}`).subarray(0, reasonMaxBytes).toString();

/** Returns the text of an error message of the protocol. */
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

/** Returns the close code for an error that ends the connection. */
export function closeCodeOf(code: ConnectorFaultCode): CloseCode {
  const facts = connectorFaults[code];
  return 'closeCode' in facts ? facts.closeCode : closeCodes.badMessage;
}

/** Returns how the sessions end after a point of sale or a device has lost its rights. */
export const endingOf = (word: LostRight) => ({ code: closeCodeOf(word), word });
