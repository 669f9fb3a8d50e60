// What a node tells the others of a session whose device has gone to one of them: whose place it is, and how long.
import { Type } from 'typebox';
import { Check } from 'typebox/schema';
import { pause } from '../platform/index.ts';
import { type Backplane, BackplaneFault, type Message } from './backplane.ts';
import { isSameSpot, type PlacedTerminal } from './devices.ts';
import { HeldTokenForm } from './held-tokens.ts';
import type { KeptPlace } from './session.ts';

const KeptMessage = Type.Object({
  kind: Type.Literal('kept'),
  /** Of the registration that the device had here: who has an older one has not got the device either. */
  order: Type.Number(),
  /** Where it stood then: whoever claimed it there has no right to it anywhere else. */
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

/** The registration of a device, and where it stood by then. */
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
 * Asks the node that had a device, whose news of a kept place come before its answer.
 *
 * @param mostMs how long it is waited for
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
    // One that cannot be asked keeps no place.
    if (!(error instanceof BackplaneFault)) throw error;
  } finally {
    over.abort();
  }
}
