// The door of the offline sales: taken in, told to the acquirer, and missed where they do not come.
export { createGapTeller, gapJob } from './gaps.ts';
export { registerOffline } from './routes.ts';
export { checkOffline, madeAt, type OfflineRequest } from './rules.ts';
export { createOfflineSender, offlineJob } from './send.ts';
export { createOfflineStore, type OfflineStore } from './store.ts';
export { storeOffline } from './upload.ts';
