// Limits waiting connections (event streams and long polls) per client, device and organisation, and in total.
import { ProblemError } from '@switchyard/contract';
import { createConcurrencyCounter } from '../../platform/index.ts';
import type { Caller } from '../authentication/caller.ts';
import { connectionLimit } from '../limits/new-connection-limits.ts';

export type ConnectionLimits = {
  readonly perClient: number;
  readonly perDevice: number;
  /** Of all clients of the organisation, also when they act on behalf of another one; devices are counted separately. */
  readonly perOrganization: number;
  readonly total: number;
};

/** The rest of the connections is reserved for requests that do not wait. */
export const defaultConnectionLimits: ConnectionLimits = {
  perClient: 200,
  perDevice: 8,
  perOrganization: 1000,
  total: connectionLimit * 0.8,
};

const retryAfterMs = 5000;

type Slot = { readonly end: (reason: string) => void; readonly uncount: () => void };

export type ConnectionSlots = {
  /**
   * Acquires a slot for a waiting client and returns the function that releases it. At the limit of a
   * device its oldest connection is ended with `replaced`, since the device has probably lost it.
   *
   * @throws ProblemError rate_limited, overloaded
   */
  acquire(caller: Caller, end: (reason: string) => void): () => void;
  count(): number;
};

export function createConnectionSlots(
  limits: ConnectionLimits = defaultConnectionLimits,
): ConnectionSlots {
  const slotsByClient = new Map<string, Set<Slot>>();
  const connectionsByOrganization = createConcurrencyCounter();
  let count = 0;

  /** A client that acts on behalf of another organisation is counted in its own one. */
  const homeOrganization = ({ organizationId, homeOrganizationId = organizationId }: Caller) =>
    homeOrganizationId;

  function release(key: string, slots: Set<Slot>, slot: Slot): void {
    if (!slots.delete(slot)) return;
    count -= 1;
    slot.uncount();
    if (slots.size === 0 && slotsByClient.get(key) === slots) slotsByClient.delete(key);
  }

  /** The key of the device, or of the client when the caller has no device. */
  function clientKey(caller: Caller): string {
    const { organizationId, clientId, deviceId } = caller;
    return deviceId === undefined
      ? `${homeOrganization(caller)}|${clientId}`
      : `${organizationId}||${deviceId}`;
  }

  return {
    acquire(caller, end) {
      const isDevice = caller.deviceId !== undefined;
      const key = clientKey(caller);
      const slots = slotsByClient.get(key) ?? new Set<Slot>();
      const isFull = slots.size >= (isDevice ? limits.perDevice : limits.perClient);
      if (isFull && !isDevice) {
        const detail = `The client already has ${limits.perClient} open event streams and long polls, which is the maximum. Close one, or retry after the time in Retry-After.`;
        throw new ProblemError('rate_limited', detail, { retryAfterMs });
      }
      if (
        !isDevice &&
        connectionsByOrganization.count(homeOrganization(caller)) >= limits.perOrganization
      ) {
        const detail = `The organisation already has ${limits.perOrganization} open event streams and long polls, which is the maximum. Close one, or retry after the time in Retry-After.`;
        throw new ProblemError('rate_limited', detail, { retryAfterMs });
      }
      if (!isFull && count >= limits.total) {
        const detail =
          'The process has the maximum number of open event streams and long polls. Retry after the time in Retry-After.';
        throw new ProblemError('overloaded', detail, { retryAfterMs });
      }
      const [oldest] = slots;
      if (isFull && oldest !== undefined) {
        release(key, slots, oldest);
        oldest.end('replaced');
      }
      const uncount = isDevice
        ? () => {}
        : connectionsByOrganization.begin(homeOrganization(caller));
      const slot: Slot = { end, uncount };
      slots.add(slot);
      slotsByClient.set(key, slots);
      count += 1;
      return () => release(key, slots, slot);
    },
    count: () => count,
  };
}
