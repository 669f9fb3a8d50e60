// Informs the next node of a device about the session that is kept for its owner.
import { Type } from 'typebox';
import { Check } from 'typebox/schema';
import { pause } from '../../platform/index.ts';
import { isSameSpot, type PlacedTerminal } from '../devices/connector-devices.ts';
import { type Backplane, BackplaneFault, type Message } from '../nodes/backplane.ts';
import { HeldTokenForm } from './claim-token.ts';
import type { KeptPlace } from './session.ts';

const KeptMessage = Type.Object({
  kind: Type.Literal('kept'),
  /** The registration number at this node; only a node with a newer registration has the device. */
  order: Type.Number(),
  /** The assignment of the device at that time; the claim is not valid for another assignment. */
  spot: Type.Object({
    merchantId: Type.String(),
    storeId: Type.String(),
    logicalDeviceId: Type.String(),
  }),
  sessionId: Type.String({ pattern: '^[A-Za-z0-9_-]{22,128}$' }),
  tokenHash: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  leftMs: Type.Number({ exclusiveMinimum: 0 }),
  claimant: Type.Object({
    owner: Type.String(),
    organizationId: Type.String(),
    clientId: Type.String(),
    byRole: Type.Optional(Type.Boolean()),
    token: Type.Optional(HeldTokenForm),
  }),
});

/** The registration of a device, and its assignment at that time. */
type Registered = { readonly order: number; readonly device: PlacedTerminal };

/** @example backplane.publish(topic, keptMessage(place, entry)); */
export function keptMessage(place: KeptPlace, { order, device }: Registered): Message {
  const { merchantId, storeId, logicalDeviceId } = device;
  return { kind: 'kept', order, spot: { merchantId, storeId, logicalDeviceId }, ...place };
}

/** @example const place = keptIn(news, entry, times.resumeMs); */
export function keptIn(
  news: Message,
  { order, device }: Registered,
  mostMs: number,
): KeptPlace | undefined {
  if (!Check(KeptMessage, news) || news.order >= order) return undefined;
  if (!isSameSpot(news.spot, device)) return undefined;
  const { sessionId, tokenHash, claimant } = news;
  return { sessionId, tokenHash, claimant, leftMs: Math.min(news.leftMs, mostMs) };
}

/**
 * Sends a request to the previous node of a device; its message about a kept session comes before
 * its answer.
 *
 * @param mostMs the maximum wait in milliseconds
 * @example await askFormer(backplane, deviceKey, { kind: 'attached', connectionId, order }, 500);
 */
export async function askFormer(
  backplane: Pick<Backplane, 'request'>,
  deviceKey: string,
  attached: Message,
  mostMs: number,
): Promise<void> {
  const over = new AbortController();
  try {
    await Promise.race([backplane.request(deviceKey, attached), pause(mostMs, over.signal)]);
  } catch (error) {
    // A node that is not reachable keeps no session.
    if (!(error instanceof BackplaneFault)) throw error;
  } finally {
    over.abort();
  }
}
