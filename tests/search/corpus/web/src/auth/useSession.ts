import { useEffect, useState } from "react";
import { HttpClient } from "../api/httpClient";

export interface SessionState {
  userName: string | null;
  isLoading: boolean;
}

/** The signed-in customer, for components that show a name or a way to sign in. */
export function useSession(client: HttpClient): SessionState {
  const [state, setState] = useState<SessionState>({ userName: null, isLoading: true });
  useEffect(() => {
    client
      .get<{ name: string }>("/me")
      .then((me) => setState({ userName: me.name, isLoading: false }))
      .catch(() => setState({ userName: null, isLoading: false }));
  }, [client]);
  return state;
}

let pending: Promise<string> | null = null;

/** Trades the refresh token for a new access token; callers at the same moment share one request. */
export function refreshAccessToken(client: HttpClient): Promise<string> {
  pending ??= client
    .post<{ token: string }>("/auth/refresh", {})
    .then((answer) => answer.token)
    .finally(() => {
      pending = null;
    });
  return pending;
}
