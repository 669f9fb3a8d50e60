// Simulates NATS in memory for unit tests; it keeps the order, and a test can drop messages.
import { BackplaneError } from './backplane.ts';
import type { NatsClient } from './nats-connection.ts';

type Heard = Parameters<NatsClient['subscribe']>[1];

export type FakeNats = {
  natsClient(): NatsClient;
  /** Called for each message on its way; the message is dropped if it returns false. */
  passes: (subject: string, data: Uint8Array) => boolean;
  /** Delivers all messages on their way. */
  settle(): Promise<void>;
  /** The total number of sent bytes. */
  sentBytes(): number;
  isUp: boolean;
};

export function createFakeNats(): FakeNats {
  const listeners = new Map<string, Set<Heard>>();
  const queue: { subject: string; data: Uint8Array }[] = [];
  let bytes = 0;

  const deliver = () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const { subject, data } = next;
      for (const heard of [...(listeners.get(subject) ?? [])]) heard(data, () => {});
    }
  };

  const nats: FakeNats = {
    isUp: true,
    passes: () => true,
    sentBytes: () => bytes,
    async settle() {
      for (let iteration = 0; iteration < 10; iteration += 1) {
        deliver();
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
    natsClient: () => ({
      isUp: () => nats.isUp,
      subscribe(subject, heard) {
        const all = listeners.get(subject) ?? new Set();
        listeners.set(subject, all.add(heard));
        return () => void all.delete(heard);
      },
      publish(subject, data) {
        bytes += data.length;
        // Copies the data, because the sender may reuse its memory after the call.
        if (nats.isUp && nats.passes(subject, data))
          queue.push({ subject, data: Uint8Array.from(data) });
      },
      async request(subject, data) {
        if (!nats.isUp) throw new BackplaneError('away');
        const [heard] = listeners.get(subject) ?? [];
        if (heard === undefined) return undefined;
        return new Promise((resolve) => heard(data, resolve));
      },
      onChange: () => () => {},
      close: async () => {},
    }),
  };
  return nats;
}
