// How nodes find each other's devices: a question to the node that has a device, and news for all who listen.

/** A message of plain JSON. */
export type Message = Readonly<Record<string, unknown>>;
export type Answerer = (message: Message) => Promise<Message>;

/** Another node has the answer, or may have it, and cannot be asked now. */
export class BackplaneFault extends Error {
  override name = 'BackplaneFault';
}

/**
 * At most once and in order for each sender; what is lost is asked for again by whoever waits.
 * Data of sessions does not pass here: a session's address leads to the node that has the device.
 */
export type Backplane = {
  /** From here on this node answers for the device. @returns ends that */
  own(deviceKey: string, answer: Answerer): () => void;
  /** Undefined, at once, where no node has the device. @throws BackplaneFault where others cannot be asked */
  request(deviceKey: string, message: Message): Promise<Message | undefined>;
  publish(topic: string, message: Message): void;
  /** @returns ends it */
  subscribe(topic: string, heard: (message: Message) => void): () => void;
  close(): Promise<void>;
};

/**
 * The backplane of the only node.
 *
 * @example const backplane = createLocalBackplane();
 */
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
