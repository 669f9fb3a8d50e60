/** Why a WebSocket ended: apart from the socket itself, so that whoever reads types needs none of its library. */

export type SocketEnd = { readonly code: number; readonly reason: string };
