// Implements the backplane over NATS core: requests go to one node, published messages to all.
import { parseJsonObject } from '@switchyard/contract';
import type { Log } from '../../platform/index.ts';
import { type Backplane, BackplaneError, createLocalBackplane, type Message } from './backplane.ts';
import type { NatsClient } from './nats-connection.ts';

/** A backplane message names a device and an owner; it carries no session data. */
const messageMaxBytes = 16_384;

export const subjectPrefix = 'switchyard.connector';
const requestSubject = (deviceKey: string) => `${subjectPrefix}.device.${deviceKey}`;
const topicSubject = (topic: string) => `${subjectPrefix}.news.${topic}`;

/** @throws BackplaneFault if the message is too long */
export function encodeMessage(message: Message): Uint8Array {
  const bytes = Buffer.from(JSON.stringify(message));
  if (bytes.length > messageMaxBytes)
    throw new BackplaneError('a message to other nodes is too long');
  return bytes;
}

/** Returns undefined if the bytes are not a valid message. */
export function decodeMessage(bytes: Uint8Array): Message | undefined {
  if (bytes.length > messageMaxBytes) return undefined;
  return parseJsonObject(Buffer.from(bytes).toString());
}

/** The answer of a node after an internal fault. */
const failedAnswer: Message = { failed: true };

type Deps = { readonly natsClient: NatsClient; readonly log: Log };

/** @example const backplane = createNatsBackplane({ natsClient, log }); */
export function createNatsBackplane({ natsClient, log }: Deps): Backplane {
  const local = createLocalBackplane();
  return {
    answerRequests(deviceKey, handle) {
      const unsubscribes = [
        local.answerRequests(deviceKey, handle),
        natsClient.subscribe(requestSubject(deviceKey), (data, reply) => {
          const request = decodeMessage(data);
          if (request === undefined) return;
          handle(request).then(
            (answerBytes) => reply(encodeMessage(answerBytes)),
            (error: unknown) => {
              log.error({ err: error }, 'a question of another node reported an internal error');
              reply(encodeMessage(failedAnswer));
            },
          );
        }),
      ];
      return () => {
        for (const unsubscribe of unsubscribes) unsubscribe();
      };
    },
    async request(deviceKey, message) {
      const localAnswer = await local.request(deviceKey, message);
      if (localAnswer !== undefined) return localAnswer;
      const answerBytes = await natsClient.request(
        requestSubject(deviceKey),
        encodeMessage(message),
      );
      if (answerBytes === undefined) return undefined;
      const answer = decodeMessage(answerBytes);
      if (answer === undefined || answer['failed'] === true) {
        throw new BackplaneError('another node reported an internal error');
      }
      return answer;
    },
    publish(topic, message) {
      local.publish(topic, message);
      natsClient.publish(topicSubject(topic), encodeMessage(message));
    },
    subscribe(topic, onMessage) {
      const unsubscribes = [
        local.subscribe(topic, onMessage),
        natsClient.subscribe(topicSubject(topic), (data) => {
          const message = decodeMessage(data);
          if (message !== undefined) onMessage(message);
        }),
      ];
      return () => {
        for (const unsubscribe of unsubscribes) unsubscribe();
      };
    },
    async close() {
      await local.close();
      await natsClient.close();
    },
  };
}
