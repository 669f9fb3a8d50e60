// Exports the event feed: publishing, reading and retention.

export type { DeliveryPlanner, FeedEvent } from './feed-event.ts';
export { createFeedRetention } from './feed-retention.ts';
export { feedTopic, registerFeedRoutes } from './feed-routes.ts';
export { createPostponeUnknownEvents } from './postpone-unknown-events.ts';
export { createEventPublisher } from './publish-events.ts';
export { createFeedReader } from './read-feed.ts';
