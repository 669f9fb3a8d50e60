// The door of the feed: publishes events, and reads them again.
export { bodyBytesMax, eventBody } from './body.ts';
export { createPublisher, type PublisherDeps } from './publish.ts';
export { createFeedReader, type FeedReader } from './read.ts';
export { createFeedRetention } from './retention.ts';
export { feedTopic, registerFeed } from './routes.ts';
export type { DeliveryPlanner, FeedEvent } from './types.ts';
