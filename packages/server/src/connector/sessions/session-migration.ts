// Informs the next node of a device about the session that is kept for its owner.
import { Type } from 'typebox';
import { Check } from 'typebox/schema';
import { pause } from '../../platform/index.ts';
import { type AssignedTerminal, isSameAssignment } from '../devices/check-device-access.ts';
import { type Backplane, BackplaneError, type Message } from '../nodes/backplane.ts';
import { ClaimTokenSchema } from './claim-token.ts';
import type { ResumableSession } from './session.ts';

const ResumableSessionMessage = Type.Object({
  kind: Type.Literal('resumableSession'),
  /** The registration number at this node; only a node with a newer registration has the device. */
  order: Type.Number(),
  /** The assignment of the device at that time; the claim is not valid for another assignment. */
  assignment: Type.Object({
    merchantId: Type.String(),
    storeId: Type.String(),
    logicalDeviceId: Type.String(),
  }),
  sessionId: Type.String({ pattern: '^[A-Za-z0-9_-]{22,128}$' }),
  tokenHash: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  remainingMs: Type.Number({ exclusiveMinimum: 0 }),
  claimant: Type.Object({
    owner: Type.String(),
    organizationId: Type.String(),
    clientId: Type.String(),
    byRole: Type.Optional(Type.Boolean()),
    token: Type.Optional(ClaimTokenSchema),
  }),
});

/** The registration of a device, and its assignment at that time. */
type Registration = { readonly order: number; readonly device: AssignedTerminal };

/** @example backplane.publish(topic, resumableSessionNodeMessage(resumableSession, entry)); */
export function resumableSessionNodeMessage(
  resumableSession: ResumableSession,
  { order, device }: Registration,
): Message {
  const { merchantId, storeId, logicalDeviceId } = device;
  return {
    kind: 'resumableSession',
    order,
    assignment: { merchantId, storeId, logicalDeviceId },
    ...resumableSession,
  };
}

/** @example const resumableSession = readResumableSession(message, entry, times.resumeMs); */
export function readResumableSession(
  message: Message,
  { order, device }: Registration,
  waitMaxMs: number,
): ResumableSession | undefined {
  if (!Check(ResumableSessionMessage, message) || message.order >= order) return undefined;
  if (!isSameAssignment(message.assignment, device)) return undefined;
  const { sessionId, tokenHash, claimant } = message;
  return { sessionId, tokenHash, claimant, remainingMs: Math.min(message.remainingMs, waitMaxMs) };
}

/**
 * Sends a request to the previous node of a device; its message about a resumable session comes before
 * its answer.
 *
 * @param waitMaxMs the maximum wait in milliseconds
 * @example await requestFromPreviousNode(backplane, deviceKey, { kind: 'attached', connectionId, order }, 500);
 */
export async function requestFromPreviousNode(
  backplane: Pick<Backplane, 'request'>,
  deviceKey: string,
  request: Message,
  waitMaxMs: number,
): Promise<void> {
  const finished = new AbortController();
  try {
    await Promise.race([backplane.request(deviceKey, request), pause(waitMaxMs, finished.signal)]);
  } catch (error) {
    // A node that is not reachable keeps no session.
    if (!(error instanceof BackplaneError)) throw error;
  } finally {
    finished.abort();
  }
}
