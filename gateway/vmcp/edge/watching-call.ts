/** A call that ends when nobody can get its reply any more. */
export interface WatchingCall {
  clientLeft(): void;
}
