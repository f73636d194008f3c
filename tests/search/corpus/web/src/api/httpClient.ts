/** The server answered, and not with what was asked for. */
export class ApiError extends Error {
  constructor(readonly status: number, readonly body: unknown) {
    super(`Request failed with status ${status}`);
  }
}

export interface RequestOptions {
  timeoutMs?: number;
  headers?: Record<string, string>;
}

export class HttpClient {
  constructor(private readonly baseUrl: string, private readonly token: () => Promise<string>) {}

  get<T>(path: string, options: RequestOptions = {}): Promise<T> {
    return this.send<T>("GET", path, undefined, options);
  }

  post<T>(path: string, body: unknown, options: RequestOptions = {}): Promise<T> {
    return this.send<T>("POST", path, body, options);
  }

  private async send<T>(method: string, path: string, body: unknown, options: RequestOptions): Promise<T> {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), options.timeoutMs ?? 10_000);
    try {
      const response = await fetch(this.baseUrl + path, {
        method,
        body: body === undefined ? undefined : JSON.stringify(body),
        headers: { Authorization: `Bearer ${await this.token()}`, ...options.headers },
        signal: controller.signal,
      });
      if (!response.ok) throw new ApiError(response.status, await parseJson(response));
      return (await parseJson(response)) as T;
    } finally {
      clearTimeout(timer);
    }
  }
}

export async function parseJson(response: Response): Promise<unknown> {
  const text = await response.text();
  return text ? JSON.parse(text) : null;
}
