/** Reads the connector's messages on a control connection and converts its faults to errors. */
import {
  type ConnectorErrorMessage,
  closeCodes,
  connectorFaults,
  type PosAnswer,
} from '@switchyard/contract';
import type { WebsocketClose } from '@switchyard/sdk-core';
import { PosError } from '../support/pos-error.ts';

const answerTypes = new Set(['claimed', 'deviceStatus', 'released', 'tokenRenewed', 'error']);
const secondMs = 1000;
const reasonCodePattern = /^[a-z_]{1,64}(?=:|$)/;

/** Returns undefined for a message that this package does not know; the caller ignores it. */
export function parseAnswer(text: string): PosAnswer | undefined {
  try {
    const value = JSON.parse(text) as Partial<PosAnswer> | null;
    const isKnown = typeof value?.type === 'string' && answerTypes.has(value.type);
    if (!isKnown) return undefined;
    if (value.type === 'error' && typeof value.error?.code !== 'string') return undefined;
    return value as PosAnswer;
  } catch {
    return undefined;
  }
}

export function errorFromMessage({ error, correlationId }: ConnectorErrorMessage): PosError {
  const { code, message, retryable, retryAfterSeconds, level } = error;
  return new PosError('Connector', `${code}: ${message}`, {
    code,
    retryable: retryable === true,
    level,
    correlationId,
    retryAfterMs: retryAfterSeconds === undefined ? undefined : retryAfterSeconds * secondMs,
  });
}

const closeCodeNames: Readonly<Record<number, string>> = Object.fromEntries([
  ...Object.entries(connectorFaults).flatMap(([word, fault]) =>
    'closeCode' in fault ? [[fault.closeCode, word]] : [],
  ),
  [closeCodes.released, 'released'],
  [closeCodes.superseded, 'superseded'],
  [closeCodes.sessionExpired, 'session_expired'],
  [closeCodes.deviceDisconnected, 'device_disconnected'],
  [closeCodes.slowConsumer, 'slow_consumer'],
  [closeCodes.messageTooLarge, 'message_too_large'],
]);
const firstConnectorCode = 4000;
/** Close codes after which a new claim or a new token can succeed. */
const retryableCloseCodes: ReadonlySet<number> = new Set([
  closeCodes.deviceDisconnected,
  closeCodes.sessionExpired,
  closeCodes.timeout,
  closeCodes.tokenExpired,
  closeCodes.rateLimited,
  closeCodes.slowConsumer,
  closeCodes.restarting,
]);

/**
 * Converts a close code to an error. The connector sends codes from 4000; lower codes mean the
 * network.
 */
export function errorFromClose({ code, reason }: WebsocketClose): PosError {
  const [, correlationId] = reason.split(':');
  const isConnectorCode = code >= firstConnectorCode;
  const readReasonCode = reasonCodePattern.exec(reason)?.[0];
  const name =
    closeCodeNames[code] ?? (isConnectorCode ? readReasonCode : undefined) ?? 'connection_lost';
  return new PosError(
    isConnectorCode ? 'Connector' : 'Transport',
    `the connection ended with ${code} ${name}`,
    {
      code: name,
      status: code,
      correlationId: correlationId || undefined,
      retryable: !isConnectorCode || retryableCloseCodes.has(code),
    },
  );
}
