// The door of the feed: publishes events, and reads them again.
export { bodyBytesMax, eventBody } from './body.ts';
export { createPublisher, type PublisherDeps } from './publish.ts';
export type { DeliveryPlanner, FeedEvent } from './types.ts';
