/** The protocol between the Cloud Connector, devices and points of sale. */
export * from './closings.ts';
export * from './codes.ts';
export * from './limits.ts';
export * from './messages.ts';
export * from './paths.ts';
