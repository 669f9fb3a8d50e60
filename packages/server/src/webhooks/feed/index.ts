// Exports the event feed: publishing, reading and retention.

export type { DeliveryPlanner, FeedEvent } from './feed-event.ts';
export { createFeedRetention } from './feed-retention.ts';
export { feedTopic, registerFeed } from './feed-routes.ts';
export { createSetAside } from './postpone-unknown-events.ts';
export { createPublisher } from './publish-events.ts';
export { createFeedReader } from './read-feed.ts';
