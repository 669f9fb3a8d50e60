// What streams of the log wait for: one topic for each organisation, its version the youngest number.
import type { Topic } from '../platform/index.ts';

export const topicKind = 'logs';

export const topicOf = (organizationId: string): Topic => ({
  kind: topicKind,
  key: organizationId,
});
