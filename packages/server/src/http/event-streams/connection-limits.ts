// Counts who waits on a connection: so many of a client, a device, an organisation, and in all.
import { Refusal } from '@switchyard/contract';
import type { Caller } from '../authentication/caller.ts';
import { connectionLimit } from '../limits/new-connection-limits.ts';

export type ConnectionLimits = {
  readonly perClient: number;
  readonly perDevice: number;
  /** Of all its clients, wherever below it they act; its devices are counted by themselves. */
  readonly perOrganization: number;
  readonly total: number;
};

/** Of the connections some are left for requests that do not wait. */
export const defaultConnectionLimits: ConnectionLimits = {
  perClient: 200,
  perDevice: 8,
  perOrganization: 1000,
  total: connectionLimit * 0.8,
};

const retryAfterMs = 5000;

type Slot = { readonly end: (reason: string) => void };

export type ConnectionSlots = {
  /**
   * A place for somebody who waits, left by calling what it gives. A device that comes back has left
   * its oldest connection behind without the platform's knowing: that one is ended, with `replaced`.
   *
   * @throws Refusal rate_limited, overloaded
   */
  acquire(caller: Caller, end: (reason: string) => void): () => void;
  count(): number;
};

export function createConnectionSlots(
  limits: ConnectionLimits = defaultConnectionLimits,
): ConnectionSlots {
  const slotsByClient = new Map<string, Set<Slot>>();
  const countByOrganization = new Map<string, number>();
  let count = 0;

  /** Whoever acts below is counted where it comes from: it could have any number of organisations. */
  const homeOrganization = ({ organizationId, homeOrganizationId = organizationId }: Caller) =>
    homeOrganizationId;

  function countOrganization(caller: Caller, change: 1 | -1): void {
    if (caller.deviceId !== undefined) return;
    const organizationId = homeOrganization(caller);
    const connections = (countByOrganization.get(organizationId) ?? 0) + change;
    if (connections === 0) countByOrganization.delete(organizationId);
    else countByOrganization.set(organizationId, connections);
  }

  function release(key: string, slots: Set<Slot>, slot: Slot, caller: Caller): void {
    if (!slots.delete(slot)) return;
    count -= 1;
    countOrganization(caller, -1);
    if (slots.size === 0 && slotsByClient.get(key) === slots) slotsByClient.delete(key);
  }

  /** Of one organisation and its device, or its client where no device is named. */
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
        const detail = `The client waits on ${limits.perClient} connections already.`;
        throw new Refusal('rate_limited', detail, { retryAfterMs });
      }
      if (
        !isDevice &&
        (countByOrganization.get(homeOrganization(caller)) ?? 0) >= limits.perOrganization
      ) {
        const detail = `The organisation waits on ${limits.perOrganization} connections already.`;
        throw new Refusal('rate_limited', detail, { retryAfterMs });
      }
      if (!isFull && count >= limits.total) {
        const detail = 'No more connections can wait for events here.';
        throw new Refusal('overloaded', detail, { retryAfterMs });
      }
      const [oldest] = slots;
      if (isFull && oldest !== undefined) {
        release(key, slots, oldest, caller);
        oldest.end('replaced');
      }
      const slot: Slot = { end };
      slots.add(slot);
      slotsByClient.set(key, slots);
      count += 1;
      countOrganization(caller, 1);
      return () => release(key, slots, slot, caller);
    },
    count: () => count,
  };
}
