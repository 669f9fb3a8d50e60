/** Why a WebSocket ended; a separate file, so that type users do not need the WebSocket library. */

export type WebsocketClose = { readonly code: number; readonly reason: string };
