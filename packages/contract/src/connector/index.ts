/** What devices and points of sale exchange with the Cloud Connector. */
export * from './closings.ts';
export * from './codes.ts';
export * from './limits.ts';
export * from './messages.ts';
export * from './paths.ts';
