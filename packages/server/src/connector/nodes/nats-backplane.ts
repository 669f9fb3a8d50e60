// Implements the backplane over NATS core: requests go to one node, published messages to all.
import type { Log } from '../../platform/index.ts';
import { type Backplane, BackplaneFault, createLocalBackplane, type Message } from './backplane.ts';
import type { Link } from './nats-connection.ts';

/** A backplane message names a device and an owner; it carries no session data. */
const messageMaxBytes = 16_384;

export const subjectPrefix = 'switchyard.connector';
const ownerSubject = (deviceKey: string) => `${subjectPrefix}.device.${deviceKey}`;
const newsSubject = (topic: string) => `${subjectPrefix}.news.${topic}`;

/** @throws BackplaneFault if the message is too long */
export function toBytes(message: Message): Uint8Array {
  const bytes = Buffer.from(JSON.stringify(message));
  if (bytes.length > messageMaxBytes)
    throw new BackplaneFault('a message to other nodes is too long');
  return bytes;
}

/** Returns undefined if the bytes are not a valid message. */
export function fromBytes(bytes: Uint8Array): Message | undefined {
  if (bytes.length > messageMaxBytes) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString());
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Message) : undefined;
  } catch {
    return undefined;
  }
}

/** The answer of a node after an internal fault. */
const failed: Message = { failed: true };

type Deps = { readonly link: Link; readonly log: Log };

/** @example const backplane = createNatsBackplane({ link, log }); */
export function createNatsBackplane({ link, log }: Deps): Backplane {
  const local = createLocalBackplane();
  return {
    own(deviceKey, answer) {
      const ends = [
        local.own(deviceKey, answer),
        link.listen(ownerSubject(deviceKey), (data, reply) => {
          const asked = fromBytes(data);
          if (asked === undefined) return;
          answer(asked).then(
            (answered) => reply(toBytes(answered)),
            (error: unknown) => {
              log.error({ err: error }, 'a question of another node met a fault');
              reply(toBytes(failed));
            },
          );
        }),
      ];
      return () => {
        for (const end of ends) end();
      };
    },
    async request(deviceKey, message) {
      const own = await local.request(deviceKey, message);
      if (own !== undefined) return own;
      const answered = await link.ask(ownerSubject(deviceKey), toBytes(message));
      if (answered === undefined) return undefined;
      const read = fromBytes(answered);
      if (read === undefined || read['failed'] === true) {
        throw new BackplaneFault('another node met a fault');
      }
      return read;
    },
    publish(topic, message) {
      local.publish(topic, message);
      link.send(newsSubject(topic), toBytes(message));
    },
    subscribe(topic, heard) {
      const ends = [
        local.subscribe(topic, heard),
        link.listen(newsSubject(topic), (data) => {
          const message = fromBytes(data);
          if (message !== undefined) heard(message);
        }),
      ];
      return () => {
        for (const end of ends) end();
      };
    },
    async close() {
      await local.close();
      await link.close();
    },
  };
}
