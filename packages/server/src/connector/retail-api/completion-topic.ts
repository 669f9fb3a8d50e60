// Defines the topic for the end of a message; its value is 1 after the end.
import type { ChangeNotifier, Topic } from '../../platform/index.ts';
import type { MessageKey, MessageStore } from './message-store.ts';

const kind = 'retail';

export const completionTopic = ({ organizationId, messageId }: MessageKey): Topic => ({
  kind,
  key: `${organizationId}/${messageId}`,
});

/** A query finds the messages that other processes have finished. */
export function addCompletionSource(
  live: ChangeNotifier,
  store: Pick<MessageStore, 'findCompleted'>,
): void {
  live.addSource(kind, async (keys) => {
    const messageKeys = keys.map((key) => {
      const [organizationId = '', messageId = ''] = key.split('/');
      return { organizationId, messageId };
    });
    const completed = await store.findCompleted(messageKeys);
    return new Map(completed.map((messageKey) => [completionTopic(messageKey).key, 1]));
  });
}
