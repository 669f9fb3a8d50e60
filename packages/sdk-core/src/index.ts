/** What the SDKs share; the packages of the SDKs contain it. */

export * from './append-file.ts';
export * from './backoff.ts';
export * from './clock.ts';
export * from './fault.ts';
export * from './http-client.ts';
export * from './item-store.ts';
export * from './secure-url.ts';
export * from './tls-options.ts';
export * from './token-cache.ts';
export * from './websocket.ts';
