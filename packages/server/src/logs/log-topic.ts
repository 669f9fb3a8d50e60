// What streams of the log wait for: one topic for each organisation, its version the youngest number.
import type { Topic } from '../platform/index.ts';

export const logTopicKind = 'logs';

export const logTopic = (organizationId: string): Topic => ({
  kind: logTopicKind,
  key: organizationId,
});
