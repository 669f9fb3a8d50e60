// The backplane over NATS core: a question goes to the one node that has the device, news go to all.
import type { Log } from '../../platform/index.ts';
import {
  type Backplane,
  BackplaneFault,
  createLocalBackplane,
  type Message,
} from '../backplane.ts';
import type { Link } from './link.ts';

/** A message of the backplane names a device and an owner; it carries no data of sessions. */
const messageMaxBytes = 16_384;

export const subjectPrefix = 'switchyard.connector';
const ownerSubject = (deviceKey: string) => `${subjectPrefix}.device.${deviceKey}`;
const newsSubject = (topic: string) => `${subjectPrefix}.news.${topic}`;

/** @throws BackplaneFault where it is longer than any message of ours */
export function toBytes(message: Message): Uint8Array {
  const bytes = Buffer.from(JSON.stringify(message));
  if (bytes.length > messageMaxBytes)
    throw new BackplaneFault('a message to other nodes is too long');
  return bytes;
}

/** Undefined where it is none of ours. */
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

/** What a node answers that met a fault of its own. */
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
