// The change topic of the request log: one per organisation; its version is the newest sequence number.
import type { Topic } from '../platform/index.ts';

export const logTopicKind = 'logs';

export const logTopic = (organizationId: string): Topic => ({
  kind: logTopicKind,
  key: organizationId,
});
