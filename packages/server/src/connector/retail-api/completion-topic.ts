// Defines the topic for the end of a message; its value is 1 after the end.
import type { ChangeNotifier, Topic } from '../../platform/index.ts';
import type { Kept, MessageStore } from './message-store.ts';

const kind = 'retail';

export const retailTopic = ({ organizationId, messageId }: Kept): Topic => ({
  kind,
  key: `${organizationId}/${messageId}`,
});

/** A query finds the messages that other processes have finished. */
export function watchMessages(live: ChangeNotifier, store: Pick<MessageStore, 'settled'>): void {
  live.addSource(kind, async (keys) => {
    const asked = keys.map((key) => {
      const [organizationId = '', messageId = ''] = key.split('/');
      return { organizationId, messageId };
    });
    const settled = await store.settled(asked);
    return new Map(settled.map((kept) => [retailTopic(kept).key, 1]));
  });
}
