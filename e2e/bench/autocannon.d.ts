/** The part of autocannon 9 that load/autocannon.ts uses; the package has no types. */
declare module 'autocannon' {
  interface Request {
    method?: string;
    path?: string;
    headers?: Record<string, string>;
    body?: string;
  }
  interface Options {
    url: string;
    connections: number;
    duration: number;
    timeout?: number;
    requests: (Request & { setupRequest?: (request: Request) => Request })[];
    verifyBody?: (body: string) => boolean;
  }
  interface Result {
    requests: { total: number };
    latency: { p50: number; p99: number };
    throughput: { total: number };
    /** Seconds. */
    duration: number;
    errors: number;
    timeouts: number;
    mismatches: number;
    non2xx: number;
  }
  export default function autocannon(options: Options): Promise<Result>;
}
