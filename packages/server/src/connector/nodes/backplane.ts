// Defines the messages between nodes: requests to the node of a device, and published messages.

/** A message that consists of plain JSON. */
export type Message = Readonly<Record<string, unknown>>;
export type RequestHandler = (message: Message) => Promise<Message>;

/** Another node may have the answer, but this node cannot reach it now. */
export class BackplaneError extends Error {
  override name = 'BackplaneFault';
}

/**
 * The backplane delivers a message at most once, in order for each sender. A sender that gets no
 * answer must repeat its request. Session data does not pass here: a session address leads to the
 * node that has the device.
 */
export type Backplane = {
  /** From now on this node answers requests for the device. @returns a function that ends this */
  answerRequests(deviceKey: string, handle: RequestHandler): () => void;
  /**
   * Returns undefined immediately if no node has the device.
   *
   * @throws BackplaneFault if this node cannot reach the others
   */
  request(deviceKey: string, message: Message): Promise<Message | undefined>;
  publish(topic: string, message: Message): void;
  /** @returns a function that ends the subscription */
  subscribe(topic: string, onMessage: (message: Message) => void): () => void;
  close(): Promise<void>;
};

/** The backplane of a single node. @example const backplane = createLocalBackplane(); */
export function createLocalBackplane(): Backplane {
  const handlers = new Map<string, RequestHandler>();
  const listeners = new Map<string, Set<(message: Message) => void>>();
  return {
    answerRequests(deviceKey, handle) {
      handlers.set(deviceKey, handle);
      return () => {
        if (handlers.get(deviceKey) === handle) handlers.delete(deviceKey);
      };
    },
    request: async (deviceKey, message) => handlers.get(deviceKey)?.(message),
    publish(topic, message) {
      for (const onMessage of [...(listeners.get(topic) ?? [])]) onMessage(message);
    },
    subscribe(topic, onMessage) {
      const topicListeners = listeners.get(topic) ?? new Set();
      listeners.set(topic, topicListeners);
      topicListeners.add(onMessage);
      return () => {
        topicListeners.delete(onMessage);
        if (topicListeners.size === 0 && listeners.get(topic) === topicListeners)
          listeners.delete(topic);
      };
    },
    async close() {
      handlers.clear();
      listeners.clear();
    },
  };
}
