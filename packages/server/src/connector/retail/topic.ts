// What those wait for who wait for the end of a message; 1 once it has come.
import type { ChangeNotifier, Topic } from '../../platform/index.ts';
import type { Kept, MessageStore } from './store.ts';

const kind = 'retail';

export const retailTopic = ({ organizationId, messageId }: Kept): Topic => ({
  kind,
  key: `${organizationId}/${messageId}`,
});

/** What other processes have heard is known by a look. */
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
