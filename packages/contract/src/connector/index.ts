/** The protocol between the Cloud Connector, devices and points of sale. */

export * from './connector-faults.ts';
export * from './limits.ts';
export * from './messages.ts';
export * from './paths.ts';
export * from './websocket-close-codes.ts';
