// Exports the event feed: publishing, reading and retention.
export { createPublisher } from './publish.ts';
export { createFeedReader } from './read.ts';
export { createFeedRetention } from './retention.ts';
export { feedTopic, registerFeed } from './routes.ts';
export { createSetAside } from './set-aside.ts';
export type { DeliveryPlanner, FeedEvent } from './types.ts';
