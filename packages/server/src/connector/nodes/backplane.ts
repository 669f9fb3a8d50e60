// Defines the messages between nodes: requests to the node of a device, and published messages.

/** A message that consists of plain JSON. */
export type Message = Readonly<Record<string, unknown>>;
export type Answerer = (message: Message) => Promise<Message>;

/** Another node may have the answer, but this node cannot reach it now. */
export class BackplaneFault extends Error {
  override name = 'BackplaneFault';
}

/**
 * The backplane delivers a message at most once, in order for each sender. A sender that gets no
 * answer must repeat its request. Session data does not pass here: a session address leads to the
 * node that has the device.
 */
export type Backplane = {
  /** From now on this node answers requests for the device. @returns a function that ends this */
  own(deviceKey: string, answer: Answerer): () => void;
  /**
   * Returns undefined immediately if no node has the device.
   *
   * @throws BackplaneFault if this node cannot reach the others
   */
  request(deviceKey: string, message: Message): Promise<Message | undefined>;
  publish(topic: string, message: Message): void;
  /** @returns a function that ends the subscription */
  subscribe(topic: string, heard: (message: Message) => void): () => void;
  close(): Promise<void>;
};

/** The backplane of a single node. @example const backplane = createLocalBackplane(); */
export function createLocalBackplane(): Backplane {
  const owners = new Map<string, Answerer>();
  const listeners = new Map<string, Set<(message: Message) => void>>();
  return {
    own(deviceKey, answer) {
      owners.set(deviceKey, answer);
      return () => {
        if (owners.get(deviceKey) === answer) owners.delete(deviceKey);
      };
    },
    request: async (deviceKey, message) => owners.get(deviceKey)?.(message),
    publish(topic, message) {
      for (const heard of [...(listeners.get(topic) ?? [])]) heard(message);
    },
    subscribe(topic, heard) {
      const own = listeners.get(topic) ?? new Set();
      listeners.set(topic, own);
      own.add(heard);
      return () => {
        own.delete(heard);
        if (own.size === 0 && listeners.get(topic) === own) listeners.delete(topic);
      };
    },
    async close() {
      owners.clear();
      listeners.clear();
    },
  };
}
